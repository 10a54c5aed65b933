"""Ways in: each proves who somebody is, at this site or at another one, and is one module here.

A way at another site is a `RedirectWay` (`oauth.py`), which the pages know by that alone.  A new one gets a struct in
`core/base/site/ways.py` for its settings, and a line in `core/site/entrance.py`.
"""
