"""`sedano dev`: a supervisor and one worker process that run an app on this machine, over one SQLite file."""
