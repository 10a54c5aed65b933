"""Commands of people who take part: join, demo, and what they need before."""
