"""Jobs to simulate: trace readers, a generator, filters, models and arrivals."""
