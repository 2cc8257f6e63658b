"""Requests and answers in the shapes of other APIs: embeddings as OpenAI's, reranking as Jina's and Cohere's."""
