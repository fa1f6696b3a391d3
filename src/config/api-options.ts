import { boolean, integer, list } from '../core/field.ts';
import { MAX_LIMIT } from '../core/settings.ts';
import { network, origin, tokenText } from './kinds.ts';
import { option } from './option.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

export const API_SECTIONS = {
  api: {
    defaultLimit: option(integer(1, MAX_LIMIT), {
      default: MAX_LIMIT,
      designate: 20,
      meaning: 'How many items a list returns when the request has no `limit`.',
    }),
    maxBodyBytes: option(integer(KIB, 64 * MIB), {
      default: 112 * KIB,
      meaning:
        'The maximum size of a request body, in bytes. Lists of TLD entries may always have 2 MiB.',
    }),
    requestTimeoutSeconds: option(integer(1, 3600), {
      default: 30,
      meaning: 'How long a request may take to arrive in full, in seconds.',
    }),
    responseTimeoutSeconds: option(integer(1, 3600), {
      default: 30,
      meaning:
        'How long a caller may go without reading a byte of a response, in seconds. Then the service closes the connection.',
    }),
    scanTimeoutSeconds: option(integer(1, 600), {
      default: 10,
      meaning:
        'How long a list that uses no index, such as one with a pattern, may take, in seconds. Then the service returns 503.',
    }),
    maxConnections: option(integer(1, 1_000_000), {
      default: 4096,
      meaning:
        'How many connections one process accepts from callers. The limit of open files [may allow fewer](install.md#limits-of-connections).',
    }),
    maxConnectionsPerAddress: option(integer(1, 1_000_000), {
      default: 1024,
      meaning:
        'How many connections one process accepts from one IPv4 address or IPv6 /64 network, at most half of `api.maxConnections`. Ignored with `api.trustProxyHeaders`.',
    }),
    trustProxyHeaders: option(boolean(), {
      default: false,
      meaning:
        "Read the scheme and host of links from `X-Forwarded-Proto` and `X-Forwarded-Host`, and the caller's address from the last element of `X-Forwarded-For`. Use this only behind a proxy that sets all three.",
    }),
  },
  cors: {
    allowedOrigins: option(list(origin(), 0, 1000), {
      reload: 'yes',
      default: [],
      meaning:
        'Origins whose pages may call the API from a browser, such as `https://console.example`.',
    }),
  },
  metrics: {
    token: option(tokenText(), {
      reload: 'yes',
      secret: true,
      meaning:
        'The token that a request for `/metrics` must have. It gives no other rights. If unset, `/metrics` needs no token.',
    }),
    addresses: option(list(network(), 0, 1000), {
      reload: 'yes',
      default: [],
      meaning:
        'The addresses and networks from which `/metrics` can be read, such as `10.0.0.0/8`. An empty list allows every address.',
    }),
  },
  rateLimit: {
    requestsPerSecond: option(integer(0, 1_000_000), {
      reload: 'yes',
      default: 0,
      meaning:
        'How many requests per second one caller may make on average, and four times as many at once. 0 sets no limit.',
    }),
    anonymousRequestsPerSecond: option(integer(0, 1_000_000), {
      reload: 'yes',
      default: 50,
      meaning:
        'How many requests without a valid token one IPv4 address or IPv6 /64 network may send per second on average, and four times as many at once. 0 sets no limit.',
    }),
  },
};
