import { useState } from 'preact/hooks';
import { request, RequestError, type RequestOptions } from '../requests.ts';

/**
 * Removes what name servers may need. After the service refused because their own lines name a key,
 * `isReferenced` is true, and the next attempt insists.
 */
export function useForcedDeletion(path: string, options: RequestOptions = { method: 'DELETE' }) {
  const [isReferenced, setReferenced] = useState(false);
  const remove = async () => {
    try {
      const headers: Record<string, string> = isReferenced ? { 'Tsigil-Force': 'true' } : {};
      await request(path, { ...options, headers });
    } catch (error) {
      if (error instanceof RequestError && error.type === 'key_is_referenced') setReferenced(true);
      throw error;
    }
  };
  return { isReferenced, remove };
}
