#include "CLatchkeyPages.h"

// In C since C23, and in this compiler for all C.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t contract[] = {
#embed "openapi.yaml"
};

static const uint8_t report[] = {
#embed "report.html"
};

static const uint8_t dashboard[] = {
#embed "Dashboard/dashboard.html"
};

static const uint8_t style[] = {
#embed "Dashboard/style.css"
};

static const uint8_t script[] = {
#embed "Dashboard/elements.js"
    ,
#embed "Dashboard/charts.js"
    ,
#embed "Dashboard/overview.js"
    ,
#embed "Dashboard/traffic.js"
    ,
#embed "Dashboard/watches.js"
    ,
#embed "Dashboard/cluster.js"
    ,
#embed "Dashboard/contention.js"
    ,
#embed "Dashboard/strategy.js"
    ,
#embed "Dashboard/property.js"
    ,
#embed "Dashboard/list.js"
    ,
#embed "Dashboard/difference.js"
    ,
#embed "Dashboard/revisions.js"
    ,
#embed "Dashboard/editor.js"
    ,
#embed "Dashboard/operations.js"
    ,
#embed "Dashboard/session.js"
    ,
#embed "Dashboard/parts.js"
};

latchkey_pages_bytes latchkey_pages_contract(void) {
    return (latchkey_pages_bytes){contract, sizeof contract};
}

latchkey_pages_bytes latchkey_pages_report(void) {
    return (latchkey_pages_bytes){report, sizeof report};
}

latchkey_pages_bytes latchkey_pages_dashboard(void) {
    return (latchkey_pages_bytes){dashboard, sizeof dashboard};
}

latchkey_pages_bytes latchkey_pages_dashboard_style(void) {
    return (latchkey_pages_bytes){style, sizeof style};
}

latchkey_pages_bytes latchkey_pages_dashboard_script(void) {
    return (latchkey_pages_bytes){script, sizeof script};
}
