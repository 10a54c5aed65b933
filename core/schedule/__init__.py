"""When this computer may contribute: what its system tells about itself."""
