# Time the authors' rcc() on given features: authors.R CODE DIRECTORY ROWS FEATURES COMPONENTS REG
arguments <- commandArgs(trailingOnly = TRUE)
# Only the functions: what else the file does is to run an experiment of its own.
for (line in parse(arguments[1])) {
  if (is.call(line) && identical(line[[1]], as.name("<-")) &&
        is.call(line[[3]]) && identical(line[[3]][[1]], as.name("function"))) {
    eval(line, globalenv())
  }
}
n <- as.integer(arguments[3])
m <- as.integer(arguments[4])
k <- as.integer(arguments[5])
reg <- as.numeric(arguments[6])
features <- function(name) {
  matrix(readBin(file.path(arguments[2], name), "double", n * m), n, m)
}
x <- features("x")
y <- features("y")
spent <- system.time(found <- rcc(x, y, reg, reg, k))["elapsed"]
cat(sprintf('\n{"seconds": %.6f, "answer": %.12f}\n', spent, sum(abs(found$cor[1:k]))))
