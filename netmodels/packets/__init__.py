"""Messages of several jobs on one network, packet by packet; the sibling in process of netmodels.ns3."""
