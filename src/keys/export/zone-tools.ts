import { bindClause } from '../../brands/bind/brand.ts';
import {
  environmentFile,
  EVERY_ALGORITHM,
  lines,
  quoted,
  WITHOUT_MD5,
  type KeyListWriter,
  type KeyWriter,
} from '../../formats/writer.ts';

/** The variables replace flags, so the secret is not on the command line. */
export const externalDns: KeyWriter = {
  consumer: 'external-dns',
  extension: 'env',
  algorithms: WITHOUT_MD5,
  write: ({ name, algorithm, secret }) =>
    environmentFile(
      'Add --provider=rfc2136, --rfc2136-host and --rfc2136-zone. Add --rfc2136-tsig-axfr so that external-dns can read existing records.',
      {
        EXTERNAL_DNS_RFC2136_TSIG_KEYNAME: name,
        EXTERNAL_DNS_RFC2136_TSIG_SECRET_ALG: algorithm,
        EXTERNAL_DNS_RFC2136_TSIG_SECRET: secret,
      },
    ),
};

export const octodns: KeyWriter = {
  consumer: 'octoDNS (octodns-bind)',
  extension: 'yaml',
  algorithms: EVERY_ALGORITHM,
  write: ({ name, algorithm, secret }) =>
    lines(
      '# Add host: the address of the name server.',
      'providers:',
      '  tsig:',
      '    class: octodns_bind.Rfc2136Provider',
      `    key_name: ${quoted(`${name}.`)}`,
      `    key_secret: ${quoted(secret)}`,
      `    key_algorithm: ${quoted(algorithm === 'hmac-md5' ? 'hmac-md5.sig-alg.reg.int' : algorithm)}`,
    ),
};

/** Environment variables of Terraform's DNS provider, so that plans do not contain the secret. */
export const terraform: KeyWriter = {
  consumer: 'Terraform and OpenTofu (hashicorp/dns)',
  extension: 'env',
  algorithms: ['hmac-md5', 'hmac-sha1', 'hmac-sha256', 'hmac-sha512'],
  write: ({ name, algorithm, secret }) =>
    environmentFile('Add DNS_UPDATE_SERVER: the address of the name server.', {
      DNS_UPDATE_KEYNAME: `${name}.`,
      DNS_UPDATE_KEYALGORITHM: algorithm,
      DNS_UPDATE_KEYSECRET: secret,
    }),
};

export const dnscontrol: KeyWriter = {
  consumer: 'DNSControl (creds.json)',
  extension: 'json',
  algorithms: EVERY_ALGORITHM,
  write({ name, algorithm, secret }) {
    const key = `${algorithm}:${name}:${secret}`;
    return lines(
      JSON.stringify(
        { axfrddns: { TYPE: 'AXFRDDNS', 'transfer-key': key, 'update-key': key } },
        null,
        2,
      ),
    );
  },
};

/** The list `tsig-keys` of Kea's DHCP-DDNS server, for a file that its configuration includes. */
export const kea: KeyListWriter = {
  consumer: 'Kea (`tsig-keys` of kea-dhcp-ddns)',
  extension: 'json',
  algorithms: EVERY_ALGORITHM,
  writeAll: (keys) =>
    lines(
      JSON.stringify(
        keys.map(({ name, algorithm, secret }) => ({
          name,
          algorithm: algorithm.toUpperCase(),
          secret,
        })),
        null,
        2,
      ),
    ),
};

/** The file has no comments, because the plugin rejects them. */
export const coredns: KeyListWriter = {
  consumer: 'CoreDNS (`secrets` of its plugin `tsig`)',
  extension: 'conf',
  algorithms: WITHOUT_MD5,
  writeAll: (keys) => keys.map(bindClause).join(''),
};
