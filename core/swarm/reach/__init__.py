"""How other peers are reached, and the records in the DHT that say so."""
