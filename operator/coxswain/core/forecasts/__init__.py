"""What a family's observations say about a job to come, or about one under way.

learning  the models of a family, from its entries in the ledger
outlook   a job's forecast, from those models and from what is seen of the job
"""
