"""The pure half of Coxswain: functions of values to values, without clock, I/O or global random state."""
