// Addresses of clients: which ones are counted together, and which ones speak for others.
//
// Design
//
// An address is 16 bytes, that of IPv4 as ::ffff:a.b.c.d. Connections are counted by IPv4 in full
// and by the first 64 bits of IPv6, because a client has all addresses below those. Only served
// connections are counted: those that are refused have bounds of their own (connection.c).
//
// An address with a connection has a counter, which is found by its hash. The counters are guarded
// by the server's lock.

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { IPV4_OFFSET = 12, IPV6_COUNTED_BYTES = 8 };

struct address_counter {
    uint64_t bits;
    bool is_ipv4;
    uint32_t count;
    address_counter *next;
};

static const uint8_t mapped[IPV4_OFFSET] = {[10] = 0xff, [11] = 0xff};

latchkey_http_address latchkey_http_address_of(const struct sockaddr *from) {
    latchkey_http_address result = {{0}};
    if (from != NULL && from->sa_family == AF_INET) {
        memcpy(result.bytes, mapped, IPV4_OFFSET);
        memcpy(result.bytes + IPV4_OFFSET,
               &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    } else if (from != NULL && from->sa_family == AF_INET6) {
        memcpy(result.bytes, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr,
               sizeof(result.bytes));
    }
    return result;
}

static bool contains(const latchkey_http_network *network, const latchkey_http_address *address) {
    uint32_t bits = network->prefix_bits;
    size_t whole = bits / 8;
    if (memcmp(network->address.bytes, address->bytes, whole) != 0) {
        return false;
    }
    unsigned mask = 0xff00u >> bits % 8 & 0xff;
    return mask == 0 || ((network->address.bytes[whole] ^ address->bytes[whole]) & mask) == 0;
}

bool latchkey_http_address_is_proxy(const latchkey_http_server *server,
                                    const latchkey_http_address *address) {
    for (size_t i = 0; i < server->options.proxy_count; i++) {
        if (contains(&server->options.proxies[i], address)) {
            return true;
        }
    }
    return false;
}

bool latchkey_http_request_is_proxy(const latchkey_http_request *request,
                                    const latchkey_http_address *address) {
    return latchkey_http_address_is_proxy(((const connection *)(const void *)request)->server,
                                          address);
}

latchkey_http_address latchkey_http_request_peer(const latchkey_http_request *request) {
    return ((const connection *)(const void *)request)->peer;
}

bool latchkey_http_address_create(latchkey_http_server *server) {
    uint32_t chains = 16;
    while (chains < server->options.connections_max / 4 && chains < 1u << 16) {
        chains *= 2;
    }
    server->address_mask = chains - 1;
    server->addresses = calloc(chains, sizeof(address_counter *));
    return server->addresses != NULL;
}

// The place of the counter of an address, or that of the NULL behind the last one of its chain.
static address_counter **place_of(latchkey_http_server *server, uint64_t bits, bool is_ipv4) {
    uint64_t hash = (bits ^ is_ipv4) * 0x9e3779b97f4a7c15u;
    address_counter **place = &server->addresses[(hash >> 32) & server->address_mask];
    while (*place != NULL && ((*place)->bits != bits || (*place)->is_ipv4 != is_ipv4)) {
        place = &(*place)->next;
    }
    return place;
}

static address_counter **counter_of(latchkey_http_server *server,
                                    const latchkey_http_address *address) {
    bool is_ipv4 = memcmp(address->bytes, mapped, IPV4_OFFSET) == 0;
    uint64_t bits = 0;
    if (is_ipv4) {
        memcpy(&bits, address->bytes + IPV4_OFFSET, 4);
    } else {
        memcpy(&bits, address->bytes, IPV6_COUNTED_BYTES);
    }
    address_counter **place = place_of(server, bits, is_ipv4);
    if (*place == NULL) {
        address_counter *counter = malloc(sizeof(*counter));
        if (counter != NULL) {
            *counter = (address_counter){bits, is_ipv4, 0, NULL};
            *place = counter;
        }
    }
    return place;
}

latchkey_http_rejection latchkey_http_address_enter(connection *c) {
    latchkey_http_server *server = c->server;
    if (server->addresses == NULL || latchkey_http_address_is_proxy(server, &c->peer)) {
        return LATCHKEY_HTTP_REJECTION_NONE;
    }
    address_counter *counter = *counter_of(server, &c->peer);
    if (counter == NULL) {
        return LATCHKEY_HTTP_REJECTION_MEMORY;
    }
    if (counter->count >= server->options.connections_per_address_max) {
        return LATCHKEY_HTTP_REJECTION_ADDRESS_CONNECTIONS;
    }
    counter->count++;
    c->is_counted = true;
    return LATCHKEY_HTTP_REJECTION_NONE;
}

void latchkey_http_address_leave(connection *c) {
    if (!c->is_counted) {
        return;
    }
    address_counter **place = counter_of(c->server, &c->peer);
    address_counter *counter = *place;
    if (--counter->count == 0) {
        *place = counter->next;
        free(counter);
    }
}
