import { editMain, type Brand } from './brands/brand.ts';
import { SECRET } from './samples.ts';

/** The key of the operator that signs NOTIFY, except on PowerDNS. */
export const OPERATORS_KEY = {
  name: 'operators.example',
  algorithm: 'hmac-sha256',
  secret: SECRET,
};

/** Returns a brand whose servers notify a secondary server at `port` of changes. */
export function notifying(brand: Brand, port: number): Brand {
  return {
    ...brand,
    configure(folder, ...others) {
      brand.configure(folder, ...others);
      editMain(brand, folder, (text) => brand.notifyAt(text, port, folder));
    },
  };
}
