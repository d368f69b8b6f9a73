// Drives GETs of one path over the client of open loops, without due times: so its figures can be
// compared with those of wrk.
//
//   closed --port 8080 --path /v1/properties/get --connections 32 --seconds 0.2

#include "CLatchkeyLoad.h"
#include "client.h"

static uint64_t good_count;

static void answered(void *context, size_t request, unsigned status, uint64_t began,
                     uint64_t ended) {
    (void)context;
    (void)request;
    (void)began;
    (void)ended;
    good_count += status == 200;
}

static bool goes_on(void *context) {
    (void)context;
    return false;
}

int main(int count, char **words) {
    double port = 0;
    double connections = 32;
    double seconds = 1;
    const char *path = "/";
    parse_options(count, words,
                  (struct option[]){{"--port", &port, NULL},
                                    {"--connections", &connections, NULL},
                                    {"--seconds", &seconds, NULL},
                                    {"--path", NULL, &path},
                                    {NULL, NULL, NULL}});
    char bytes[1024];
    int length = snprintf(bytes, sizeof(bytes), "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path);
    latchkey_load_request request = {0, 0, (size_t)length};
    latchkey_load load = {
        .port = (uint16_t)port,
        .connections = (uint32_t)connections,
        .requests = &request,
        .request_count = 1,
        .bytes = (const uint8_t *)bytes,
        .nanoseconds = (uint64_t)(seconds * 1e9),
        .is_closed = true,
        .answered = answered,
        .is_interrupted = goes_on,
    };
    latchkey_load_outcome outcome = latchkey_load_run(&load);
    double took = (double)(now_nanoseconds() - outcome.start) / 1e9;
    printf("{\"requests\": %llu, \"seconds\": %f, \"lost\": %zu, \"error\": %d}\n",
           (unsigned long long)good_count, took, outcome.lost, outcome.error);
    return outcome.error != 0;
}
