"""The cluster: its members and their reports, the control record, the inbox, the shares of scaled queues, and the controller's decisions.
"""
