"""Parts of policies: orders, placement policies, CPU and memory allocation, queues."""
