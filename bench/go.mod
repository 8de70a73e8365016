module raddle/bench

go 1.23
