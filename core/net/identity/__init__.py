"""Identity of the peer behind a link: certificates and passes."""
