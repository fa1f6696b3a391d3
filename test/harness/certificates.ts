import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A certificate and its key in PEM format. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/**
 * Creates a certificate authority with openssl. Writes the certificate to `name.pem` in `folder`
 * and returns its path.
 */
export function createAuthority(folder: string, name: string): string {
  const made = ['-newkey', 'rsa:2048', '-nodes', '-keyout', `${name}.key`, '-out', `${name}.pem`];
  execFileSync('openssl', ['req', '-x509', ...made, '-subj', `/CN=${name}`], {
    cwd: folder,
    stdio: 'ignore',
  });
  return join(folder, `${name}.pem`);
}

/** Creates a certificate for 127.0.0.1, issued by an authority in the same folder. */
export function createCertificate(folder: string, authority: string): Certificate {
  const openssl = (...words: string[]) =>
    execFileSync('openssl', words, { cwd: folder, stdio: 'ignore' });
  const request = [
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    'server.key',
    '-out',
    'server.csr',
    '-subj',
    '/CN=server',
  ];
  openssl('req', ...request, '-addext', 'subjectAltName=IP:127.0.0.1');
  const signing = [
    '-CA',
    `${authority}.pem`,
    '-CAkey',
    `${authority}.key`,
    '-copy_extensions',
    'copy',
  ];
  openssl('x509', '-req', '-in', 'server.csr', ...signing, '-out', 'server.pem');
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  return { key: read('server.key'), cert: read('server.pem') };
}
