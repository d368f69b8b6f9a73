// The files that the program contains: pages and the contract.
//
// C, because its compiler embeds a file as it is. Swift would make an array literal of it, whose
// hundred thousand elements take seconds of each build.

#ifndef CLATCHKEYPAGES_H
#define CLATCHKEYPAGES_H

#include <stddef.h>
#include <stdint.h>

// The bytes of a file. They live as long as the program.
typedef struct {
    const uint8_t *start;
    size_t count;
} latchkey_pages_bytes;

// The contract of the service.
latchkey_pages_bytes latchkey_pages_contract(void);

// The page of a report.
latchkey_pages_bytes latchkey_pages_report(void);

// The dashboard's page, with places for its style and its script.
latchkey_pages_bytes latchkey_pages_dashboard(void);
latchkey_pages_bytes latchkey_pages_dashboard_style(void);

// The dashboard's scripts one after the other, in the order of their use.
latchkey_pages_bytes latchkey_pages_dashboard_script(void);

#endif
