"""The one place that knows Redis: tables, their histories, and the feed of what is committed.

`store` is the way in; `keys` says where everything lies, `commit.lua` what a commit is, `feed` how watchers hear of it.
"""
