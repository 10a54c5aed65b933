"""Where text comes from: folders, web addresses, buckets, hub data sets, as shards of documents."""
