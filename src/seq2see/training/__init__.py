"""Batches to a trained model: the LightningModule, its objective, its budget and what happens around it.

Nothing is imported here: who only uses a model, or still reads the data, need not wait seconds for Lightning.
"""
