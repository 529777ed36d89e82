/* A congestion control for forebay: one packet more per round trip, a part of the window after a
 * loss (RFC 5681). */
#include "forebay.h"

/* The state of one connection. forebay fills it with zeros and copies it, so it holds no address. */
typedef struct {
    double beta;
} State;

_Static_assert(sizeof(State) == 8, "state_bytes of the description");

/* The facts about this module in JSON: state_bytes is the size of State. */
FOREBAY_EXPORT const char *forebay_describe(void) {
    return "{"
           "\"title\": \"One packet more per round trip, a part of the window after a loss\","
           "\"state_bytes\": 8,"
           "\"parameters\": [{"
           "    \"name\": \"beta\", \"default\": 0.5, \"least\": 0, \"most\": 1,"
           "    \"meaning\": \"Part of the window that remains after a loss\""
           "}]}";
}

/* Takes the parameters, in the order of the description. */
FOREBAY_EXPORT void create(State *state) { state->beta = exchange.parameters[0]; }

/* Grows the window (RFC 5681, section 3.1). */
FOREBAY_EXPORT void on_ack(State *state) {
    (void)state;
    double acked = forebay_slow_start(exchange.ack.acked);
    exchange.cwnd += acked / exchange.cwnd;
}

/* Reduces the window to a part of the packets in flight (RFC 5681, equation 4). */
FOREBAY_EXPORT void on_congestion_event(State *state) {
    forebay_reduce(state->beta * exchange.event.flight);
}
