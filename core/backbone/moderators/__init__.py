"""Service to moderators: answers to their questions, a chain of what they did, and what was seen of members' parts."""
