import { postText, segment } from '../../lib/api';
import type { Explained } from '../../lib/record';

/** explain has a request's body judged as it is, without running it. app names who asks, "" = this browser. */
export function explain(protocol: string, body: string, app: string): Promise<Explained> {
  return postText<Explained>(`explain/${segment(protocol)}`, body, app === '' ? {} : { 'X-Fleet-App': app });
}
