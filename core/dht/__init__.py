"""The swarm's shared dictionary: Kademlia (Maymounkov and Mazieres 2002) with signed, expiring records; a machine."""
