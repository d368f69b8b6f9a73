#define _GNU_SOURCE  // memmem, strcasestr

#include "client.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static bool open_from(client *c, uint16_t port, uint8_t number, int receive_bytes) {
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    struct timeval patience = {.tv_sec = 5};
    c->count = 0;
    c->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(c->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(c->socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (receive_bytes > 0) {
        // Before the connection: its first window depends on it.
        setsockopt(c->socket, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
    }
    struct sockaddr_in own = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~0xffu) | number),
    };
    if (number != 1 && bind(c->socket, (struct sockaddr *)&own, sizeof(own)) != 0) {
        client_close(c);
        return false;
    }
    if (connect(c->socket, (struct sockaddr *)&address, sizeof(address)) != 0) {
        client_close(c);
        return false;
    }
    return true;
}

bool client_open_small(client *c, uint16_t port, int receive_bytes) {
    return open_from(c, port, 1, receive_bytes);
}

bool client_open_from(client *c, uint16_t port, uint8_t number) {
    return open_from(c, port, number, 0);
}

bool client_open(client *c, uint16_t port) {
    return client_open_small(c, port, 0);
}

void client_close(client *c) {
    if (c->socket >= 0) {
        close(c->socket);
    }
    c->socket = -1;
}

void client_reset(client *c) {
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    setsockopt(c->socket, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    client_close(c);
}

void client_end(client *c) {
    shutdown(c->socket, SHUT_WR);
}

void client_send_bytes(client *c, const void *bytes, size_t count) {
    const char *at = bytes;
    while (count > 0) {
        ssize_t sent = send(c->socket, at, count, MSG_NOSIGNAL);
        if (sent <= 0) {
            return;
        }
        at += sent;
        count -= (size_t)sent;
    }
}

void client_send(client *c, const char *text) {
    client_send_bytes(c, text, strlen(text));
}

bool client_receive(client *c) {
    ssize_t count = recv(c->socket, c->buffer + c->count, sizeof(c->buffer) - c->count, 0);
    if (count <= 0) {
        return false;
    }
    c->count += (size_t)count;
    return true;
}

void client_consume(client *c, size_t count) {
    c->count -= count;
    memmove(c->buffer, c->buffer + count, c->count);
}

reply *client_read(client *c, bool head_only) {
    static _Thread_local reply result;
    result.status = 0;
    result.closes = false;
    result.head[0] = '\0';
    result.body[0] = '\0';
    result.body_count = 0;
    char *end;
    while ((end = memmem(c->buffer, c->count, "\r\n\r\n", 4)) == NULL) {
        if (!client_receive(c)) {
            return &result;
        }
    }
    size_t head_count = (size_t)(end - c->buffer) + 4;
    size_t copied = head_count < CLIENT_HEAD_BYTES_MAX ? head_count : CLIENT_HEAD_BYTES_MAX - 1;
    memcpy(result.head, c->buffer, copied);
    result.head[copied] = '\0';
    client_consume(c, head_count);
    if (strncmp(result.head, "HTTP/1.1 ", 9) == 0) {
        result.status = atoi(result.head + 9);
    }
    result.closes = strcasestr(result.head, "\r\nConnection: close\r\n") != NULL;
    const char *length = strcasestr(result.head, "\r\nContent-Length: ");
    if (length != NULL && !head_only && result.status != 304) {
        size_t body_count = strtoul(length + 18, NULL, 10);
        while (c->count < body_count && client_receive(c)) {
        }
        size_t there = c->count < body_count ? c->count : body_count;
        result.body_count = there;
        copied = there < CLIENT_BODY_BYTES_MAX ? there : CLIENT_BODY_BYTES_MAX - 1;
        memcpy(result.body, c->buffer, copied);
        result.body[copied] = '\0';
        client_consume(c, there);
    }
    return &result;
}

int client_ask(client *c, const char *text) {
    client_send(c, text);
    return client_read(c, false)->status;
}

bool client_sees_end(client *c) {
    char byte;
    return c->count == 0 && recv(c->socket, &byte, 1, 0) <= 0;
}
