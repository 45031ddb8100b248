"""What notebooks show: building blocks of HTML that every room uses for its own objects."""
