"""Schedules: timetables, cron expressions, due occurrences, and the agendas that store them."""
