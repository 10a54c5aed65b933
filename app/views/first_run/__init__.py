"""The pages from a link to the first contribution; also the dialog that joins another collaboration later."""
