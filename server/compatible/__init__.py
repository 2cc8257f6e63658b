"""How are requests and answers written in the shapes of other APIs, OpenAI, Jina and Cohere?"""
