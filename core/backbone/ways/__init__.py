"""How people without an invitation come in: the ways in that the organiser writes down, and tickets."""
