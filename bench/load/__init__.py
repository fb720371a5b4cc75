"""A server under load, from one core: what an act costs, and how long it and the news of it take."""
