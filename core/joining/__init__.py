"""A newcomer's side of joining: a link is looked at, the welcome desk is asked, blobs are fetched."""
