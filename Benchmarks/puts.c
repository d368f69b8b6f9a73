// Puts keys into etcd over gRPC, by the client of clusters.
//
//   puts --port N [--port2 N --port3 N] [--in-flight N] [--rate N] [--seconds N]
//
// Each server has a connection. Without a rate each put is sent as soon as one before it has
// ended, so that --in-flight of them are under way; with one, they are sent at that many a second.
// Values have 100 bytes, and the 10,000 keys are chosen at random.
//
// Prints one JSON object: requests, seconds, and the time until the answer.

#include "CLatchkeyRPC.h"
#include "client.h"

#include <pthread.h>

enum { SERVERS_MAX = 3, NAMES = 10000, VALUE_BYTES = 100, MESSAGE_BYTES_MAX = 160 };

static struct {
    double ports[SERVERS_MAX], in_flight, rate, seconds;
} options = {.in_flight = 1, .seconds = 2};

struct put {
    latchkey_rpc_channel *channel;
    uint64_t sent;
    struct put *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_free = PTHREAD_COND_INITIALIZER;
static struct put *free_puts;
static size_t free_count;
static struct samples samples;
static uint64_t ends;

static void take(void *context, const uint8_t *bytes, size_t count) {
    (void)context;
    (void)bytes;
    (void)count;
}

static void ended(void *context, const char *reason) {
    (void)context;
    fail("etcd has ended a connection: %s", reason);
}

static void answered(void *context, int status, const char *reason);

// PutRequest: field 1 is the key, field 2 the value.
static void send_put(struct put *put) {
    static _Thread_local unsigned seed;
    uint8_t message[MESSAGE_BYTES_MAX] = {0x0a, 12};
    if (seed == 0) {
        seed = (unsigned)now_nanoseconds();
    }
    snprintf((char *)message + 2, 13, "random%06d", rand_r(&seed) % NAMES);
    message[14] = 0x12;
    message[15] = VALUE_BYTES;
    memset(message + 16, 'x', VALUE_BYTES);
    const struct latchkey_rpc_request request = {
        .path = "/etcdserverpb.KV/Put",
        .message = message,
        .message_count = 16 + VALUE_BYTES,
        .context = put,
        .take = take,
        .end = answered,
    };
    put->sent = now_nanoseconds();
    if (latchkey_rpc_call(put->channel, &request) == 0) {
        fail("a put cannot be sent");
    }
}

static void answered(void *context, int status, const char *reason) {
    struct put *put = context;
    if (status != LATCHKEY_RPC_OK) {
        fail("a put was answered %d: %s", status, reason);
    }
    uint64_t now = now_nanoseconds();
    pthread_mutex_lock(&lock);
    add_sample(&samples, (int64_t)(now - put->sent));
    bool goes_on = options.rate == 0 && now < ends;
    if (!goes_on) {
        put->next = free_puts;
        free_puts = put;
        free_count++;
        pthread_cond_signal(&is_free);
    }
    pthread_mutex_unlock(&lock);
    if (goes_on) {
        send_put(put);
    }
}

static struct put *await_free(void) {
    pthread_mutex_lock(&lock);
    while (free_puts == NULL) {
        pthread_cond_wait(&is_free, &lock);
    }
    struct put *put = free_puts;
    free_puts = put->next;
    free_count--;
    pthread_mutex_unlock(&lock);
    return put;
}

static void sleep_until(uint64_t due) {
    struct timespec time = {(time_t)(due / 1000000000u), (long)(due % 1000000000u)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

int main(int count, char **words) {
    parse_options(count, words,
                  (struct option[]){{"--port", &options.ports[0], NULL},
                                    {"--port2", &options.ports[1], NULL},
                                    {"--port3", &options.ports[2], NULL},
                                    {"--in-flight", &options.in_flight, NULL},
                                    {"--rate", &options.rate, NULL},
                                    {"--seconds", &options.seconds, NULL},
                                    {NULL, NULL, NULL}});
    latchkey_rpc_channel *channels[SERVERS_MAX];
    size_t channel_count = 0, put_count = (size_t)options.in_flight;
    for (size_t i = 0; i < SERVERS_MAX && options.ports[i] != 0; i++) {
        const struct latchkey_rpc_options server = {
            .host = "127.0.0.1",
            .port = (uint16_t)options.ports[i],
            .connect_milliseconds = 5000,
            .silence_milliseconds = 5000,
            .message_bytes_max = 1 << 20,
            .ended = ended,
        };
        channels[channel_count++] = latchkey_rpc_open(&server);
    }
    struct put *puts = calloc(put_count, sizeof(*puts));
    if (puts == NULL || channel_count == 0) {
        fail("no server is named, or there is no memory");
    }
    uint64_t started = now_nanoseconds();
    ends = started + (uint64_t)(options.seconds * 1e9);
    for (size_t i = 0; i < put_count; i++) {
        puts[i].channel = channels[i % channel_count];
        if (options.rate == 0) {
            send_put(&puts[i]);
        } else {
            puts[i].next = free_puts;
            free_puts = &puts[i];
            free_count++;
        }
    }
    for (uint64_t i = 0; options.rate != 0; i++) {
        uint64_t due = started + (uint64_t)((double)i / options.rate * 1e9);
        if (due >= ends) {
            break;
        }
        sleep_until(due);
        send_put(await_free());
    }
    pthread_mutex_lock(&lock);
    while (free_count < put_count) {
        pthread_cond_wait(&is_free, &lock);
    }
    pthread_mutex_unlock(&lock);
    double seconds = (double)(now_nanoseconds() - started) / 1e9;
    printf("{\"requests\":%zu,\"seconds\":%.6f,", samples.count, seconds);
    print_samples(&samples);
    printf("}\n");
    // The channels end with the process.
    fflush(stdout);
    _exit(0);
}
