import { existsSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { readWholeFile } from '../../net/files.ts';

/** The files in which systems store trusted certificates. OpenSSL and Go read the same files. */
const SYSTEM_FILES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

/**
 * Returns the certificates that Node.js and this system trust, in PEM. `SSL_CERT_FILE` replaces the
 * file of the system, and `NODE_EXTRA_CA_CERTS` adds another file. Ignores files that cannot be
 * read.
 */
export function systemCertificates(environment: NodeJS.ProcessEnv): string {
  const system = environment.SSL_CERT_FILE || SYSTEM_FILES.find((path) => existsSync(path));
  const files = [system, environment.NODE_EXTRA_CA_CERTS].map(readOptional);
  return [...rootCertificates, ...files].join('\n');
}

function readOptional(path: string | undefined): string {
  try {
    return path ? readWholeFile(path).toString() : '';
  } catch {
    return '';
  }
}
