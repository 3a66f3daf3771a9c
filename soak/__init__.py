"""Mixed traffic for half an hour, with clients that leave and requests that are refused: does anything grow?"""
