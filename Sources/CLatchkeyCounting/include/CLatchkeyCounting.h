// Counts what a program asks of the C library's heap and of Swift's reference counts, while it is
// told to.
//
// A program calls functions of other libraries through pointers that the dynamic linker sets. While
// there is counting, these pointers lead to functions that count and go on. So nothing is slower
// before and after. With a sanitizer, on other processors than x86-64 and ARM64, or with another C
// library than glibc, nothing is counted; on ARM64 the references are not.
//
// Not counted either: calls through the program's own pointers to functions, and what a library
// calls in itself. The standard library's own code retains and releases without such a pointer, and
// in a program with a static standard library all code does.

#ifndef CLATCHKEYCOUNTING_H
#define CLATCHKEYCOUNTING_H

#include <stdbool.h>
#include <stdint.h>

typedef struct latchkey_counting_counts {
    // Calls of the functions that allocate.
    uint64_t allocations;
    // Strong references that were taken or given back.
    uint64_t references;
} latchkey_counting_counts;

// Begins to count on all threads but the calling one, or returns false if that is not possible.
bool latchkey_counting_begin(void);

// Whether the references are counted as well as the allocations.
bool latchkey_counting_has_references(void);

// So far.
latchkey_counting_counts latchkey_counting_now(void);

// Ends counting that has begun; called on the thread that began it.
void latchkey_counting_end(void);

#endif
