"""The swarm's distributed hash table: Kademlia (Maymounkov and Mazieres 2002) with signed, expiring records."""
