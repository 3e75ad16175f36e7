CREATE TABLE orders(id INTEGER PRIMARY KEY, country TEXT NOT NULL, state TEXT NOT NULL, total REAL);
INSERT INTO orders VALUES (1, 'is', 'paid', 10.5), (2, 'no', 'paid', 3), (3, 'is', 'open', NULL), (4, 'fo', 'paid', 7.25), (5, 'is', 'paid', 12);
