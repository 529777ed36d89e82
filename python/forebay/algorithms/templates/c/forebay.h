/* The interface of forebay, version 1: the exchange, the imports, and the exports that every module
 * has. Include it in one file. The manual describes it under "Your own algorithms", section
 * "WebAssembly". */
#ifndef FOREBAY_H
#define FOREBAY_H

#include <stdint.h>

/* on_ack. */
typedef struct {
    double acked; /* Packets acknowledged for the first time. */
} ForebayAck;

enum { FOREBAY_LOSS = 0, FOREBAY_MARK = 1, FOREBAY_TIMEOUT = 2 };

/* on_congestion_event and on_timeout. */
typedef struct {
    double flight; /* Packets in flight. */
    uint32_t kind; /* FOREBAY_LOSS, FOREBAY_MARK or FOREBAY_TIMEOUT. */
} ForebayEvent;

/* on_idle. */
typedef struct {
    double idle;           /* Idle time in seconds. */
    uint64_t idle_ps;      /* Idle time in picoseconds. */
    double restart_window; /* Restart window in packets, or NaN. */
} ForebayIdle;

/* on_open. */
typedef struct {
    uint64_t payload; /* Bytes of data in a full packet. */
} ForebayOpen;

enum { FOREBAY_OPEN = 0, FOREBAY_RECOVERY = 1, FOREBAY_IN_TIMEOUT = 2 };

/* on_sample. */
typedef struct {
    double rtt;             /* Round-trip time in seconds, or NaN. */
    double arrived;         /* Packets that arrived. */
    double lost;            /* Packets that were lost. */
    double marked;          /* Packets that arrived with a mark. */
    uint64_t acknowledged;  /* Lowest packet that is not acknowledged. */
    uint64_t next;          /* Next packet to send. */
    double prior_in_flight; /* Packets in flight before the acknowledgment. */
    double in_flight;       /* Packets in flight after it. */
    uint64_t delivered;     /* Packets that arrived since the start. */
    uint64_t losses;        /* Packets that were lost since the start. */
    double delivery_rate;   /* Delivery rate in packets per second, or NaN. */
    uint32_t state;         /* FOREBAY_OPEN, FOREBAY_RECOVERY or FOREBAY_IN_TIMEOUT. */
    uint32_t limited;       /* 1 if the window limited the sender. */
    uint32_t app_limited;   /* 1 if the application limited the delivery rate. */
} ForebaySample;

/* The values that forebay writes before each call. */
typedef union {
    struct {
        double cwnd;         /* Congestion window in packets. forebay takes it after the call. */
        double ssthresh;     /* Slow-start threshold in packets. forebay takes it after the call. */
        uint64_t now_ps;     /* Time in picoseconds. */
        double now;          /* Time in seconds. */
        double smoothed_rtt; /* Smoothed, smallest and largest round-trip time in seconds. */
        double min_rtt;
        double max_rtt;
        union {
            ForebayAck ack;
            ForebayEvent event;
            ForebayIdle idle;
            ForebayOpen open;
            ForebaySample sample;
        };
    };
    /* The parameters in create, in the order of the description. Times are in seconds, rates in bits
     * per second; a switch is 0 or 1, and a missing value NaN. */
    double parameters[32];
} ForebayExchange;

_Static_assert(sizeof(ForebayExchange) == 256, "size of the exchange");

static ForebayExchange exchange;

/* Each function that forebay calls has this word. */
#define FOREBAY_EXPORT __attribute__((visibility("default")))

FOREBAY_EXPORT int32_t forebay_abi(void) { return 1; }

FOREBAY_EXPORT const ForebayExchange *forebay_exchange(void) { return &exchange; }

/* Grows the window in slow start (RFC 5681, section 3.1). Returns the packets beyond the threshold.
   At or above the threshold, the window stays as it is. */
static inline double forebay_slow_start(double acked) {
    if (exchange.cwnd >= exchange.ssthresh) {
        return acked;
    }
    double grown = exchange.cwnd + acked;
    if (grown <= exchange.ssthresh) {
        exchange.cwnd = grown;
        return 0.0;
    }
    exchange.cwnd = exchange.ssthresh;
    return grown - exchange.ssthresh;
}

/* Reduces window and threshold to this number of packets, at least two (RFC 5681, equation 4). */
static inline void forebay_reduce(double ssthresh) {
    exchange.ssthresh = ssthresh > 2.0 ? ssthresh : 2.0;
    exchange.cwnd = exchange.ssthresh;
}

#ifdef __wasm__
#define FOREBAY_IMPORT(name) __attribute__((import_module("forebay"), import_name(name)))
#else
#define FOREBAY_IMPORT(name)
#endif

/* Functions with equal results on every machine, and the random stream of the connection. */
FOREBAY_IMPORT("cbrt") double forebay_cbrt(double x);
FOREBAY_IMPORT("cos") double forebay_cos(double x);
FOREBAY_IMPORT("exp") double forebay_exp(double x);
FOREBAY_IMPORT("exp2") double forebay_exp2(double x);
FOREBAY_IMPORT("log") double forebay_log(double x);
FOREBAY_IMPORT("log2") double forebay_log2(double x);
FOREBAY_IMPORT("pow") double forebay_pow(double x, double y);
FOREBAY_IMPORT("sin") double forebay_sin(double x);
FOREBAY_IMPORT("tanh") double forebay_tanh(double x);
FOREBAY_IMPORT("random_uniform") double forebay_random_uniform(void);
FOREBAY_IMPORT("random_exponential") double forebay_random_exponential(void);
FOREBAY_IMPORT("random_normal") double forebay_random_normal(void);

#endif
