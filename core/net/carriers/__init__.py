"""What carries a link where TCP cannot: QUIC through holes in routers."""
