// libcurl as Debian packages it (libcurl4-openssl-dev). Only CLatchkeyFetch uses it.
#include <curl/curl.h>
