import { bindClause } from '../../brands/bind/brand.ts';
import {
  comments,
  environmentFile,
  EVERY_ALGORITHM,
  lines,
  quoted,
  WITHOUT_MD5,
  type KeyWriter,
} from '../../formats/writer.ts';

/** A Secret for cert-manager. Its comments show the part of an Issuer that refers to the Secret. */
export const certManagerSecret: KeyWriter = {
  consumer: 'cert-manager',
  extension: 'yaml',
  algorithms: ['hmac-md5', 'hmac-sha1', 'hmac-sha256', 'hmac-sha512'],
  write({ name, algorithm, secret }) {
    const secretName = objectName(name);
    return lines(
      '# For spec.acme.solvers of an Issuer, with the address of the name server:',
      '#   - dns01:',
      '#       rfc2136:',
      '#         nameserver: "192.0.2.1:53"',
      `#         tsigKeyName: ${quoted(name)}`,
      `#         tsigAlgorithm: ${algorithm.toUpperCase().replace('-', '')}`,
      '#         tsigSecretSecretRef:',
      `#           name: ${quoted(secretName)}`,
      '#           key: tsig-secret-key',
      'apiVersion: v1',
      'kind: Secret',
      'metadata:',
      `  name: ${quoted(secretName)}`,
      'type: Opaque',
      'stringData:',
      `  tsig-secret-key: ${quoted(secret)}`,
    );
  },
};

/** Returns a valid Kubernetes object name (RFC 1123) for the key with this name. */
function objectName(name: string): string {
  return `tsig-${name.replaceAll(/[._-]+/g, '-')}`
    .replaceAll(/-{2,}/g, '-')
    .slice(0, 253)
    .replace(/-$/, '');
}

/**
 * The credentials file of certbot-dns-rfc2136. Releases before 4.0 use hmac-md5 unless the
 * algorithm is in upper case.
 */
export const certbot: KeyWriter = {
  consumer: 'certbot (certbot-dns-rfc2136)',
  extension: 'ini',
  algorithms: EVERY_ALGORITHM,
  write: ({ name, algorithm, secret }) =>
    lines(
      '# Add dns_rfc2136_server: the address of the name server.',
      `dns_rfc2136_name = ${name}.`,
      `dns_rfc2136_secret = ${secret}`,
      `dns_rfc2136_algorithm = ${algorithm.toUpperCase()}`,
    ),
};

/** The prefixes of the variables of lego 5 (`--dns dnsupdate`) and of lego 4 (`--dns rfc2136`). */
const LEGO_PREFIXES = ['DNSUPDATE', 'RFC2136'];

/** Variables of lego and of programs that use it. lego's algorithm names end in a dot. */
export const lego: KeyWriter = {
  consumer: 'lego and Traefik',
  extension: 'env',
  algorithms: WITHOUT_MD5,
  write: ({ name, algorithm, secret }) =>
    environmentFile(
      'lego 5 reads DNSUPDATE_*, and lego 4 RFC2136_*. Add DNSUPDATE_NAMESERVER or RFC2136_NAMESERVER: the address and port of the name server.',
      Object.fromEntries(
        LEGO_PREFIXES.flatMap((prefix) => [
          [`${prefix}_TSIG_KEY`, `${name}.`],
          [`${prefix}_TSIG_ALGORITHM`, `${algorithm}.`],
          [`${prefix}_TSIG_SECRET`, secret],
        ]),
      ),
    ),
};

/**
 * The provider block of caddy-dns/rfc2136, for a file that a `tls` block of a Caddyfile imports.
 */
export const caddy: KeyWriter = {
  consumer: 'Caddy (caddy-dns/rfc2136)',
  extension: 'conf',
  algorithms: WITHOUT_MD5,
  write: ({ name, algorithm, secret }) =>
    lines(
      '# Import this file in a tls block of the Caddyfile.',
      'dns rfc2136 {',
      `\tkey_name ${quoted(`${name}.`)}`,
      `\tkey_alg ${quoted(algorithm)}`,
      `\tkey ${quoted(secret)}`,
      '\t# Add server: the address and port of the name server.',
      '}',
    ),
};

/** The key file for `NSUPDATE_KEY` of acme.sh. acme.sh passes the file to `nsupdate -k`. */
export const acmeSh: KeyWriter = {
  consumer: 'acme.sh (dns_nsupdate)',
  extension: 'key',
  algorithms: EVERY_ALGORITHM,
  write: (key) =>
    comments(
      'Set NSUPDATE_KEY to the path of this file, and NSUPDATE_SERVER to the name server. Then run:',
      '  acme.sh --issue --dns dns_nsupdate -d www.example.org',
    ) + bindClause(key),
};
