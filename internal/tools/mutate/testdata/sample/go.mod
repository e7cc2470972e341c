module example.test/sample

go 1.26
