"""What policies are made of: orders, placement choosers, queues, matching."""
