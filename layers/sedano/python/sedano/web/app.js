// Reads the address of this page again and patches the changes; the address is the whole state. The page also works without JavaScript.
const one = (path, root = document) => root.querySelector(path)
const policy = globalThis.trustedTypes?.createPolicy('sedano', { createHTML: text => text }) ?? { createHTML: text => text }
const FIRST = 2000, MOST = 30000, AWAY = 60000
const PARTS = ['main', '#about']
const still = one('main').hasAttribute('data-still')
let tag = one('meta[name=tag]').content, pause = FIRST, timer, reading = false, held = false

const keyOf = node => /^(TR|LI)$/.test(node.nodeName) ? one('a', node)?.getAttribute('href') : undefined

// Makes the node `now` like `next`, in place: focus, selection, scrolling and open <details> stay. Returns whether anything changed.
function patch(now, next) {
  if (now.isEqualNode(next)) return false
  if (now.nodeName !== next.nodeName) { now.replaceWith(next); return true }
  if (now.nodeType !== Node.ELEMENT_NODE) { now.data = next.data; return true }
  for (const { name } of [...now.attributes]) if (name !== 'open' && !next.hasAttribute(name)) now.removeAttribute(name)
  for (const { name, value } of next.attributes) if (name !== 'open' && now.getAttribute(name) !== value) now.setAttribute(name, value)
  const kept = new Map()
  for (const child of now.children) { const key = keyOf(child); if (key && !kept.has(key)) kept.set(key, child) }
  let place = now.firstChild, changed = false
  for (const wanted of [...next.childNodes]) {
    const key = keyOf(wanted), known = key ? kept.get(key) : place && !keyOf(place) ? place : null
    if (!known) {
      if (key) wanted.classList.add('fresh')
      now.insertBefore(wanted, place)
      changed = true
      continue
    }
    kept.delete(key)
    if (known !== place) now.insertBefore(known, place)
    place = known.nextSibling
    changed = patch(known, wanted) || changed
  }
  while (place) { const after = place.nextSibling; place.remove(); place = after; changed = true }
  return changed
}

async function read() {
  const answer = await fetch(location.href, { cache: 'no-store', headers: { accept: 'text/html', 'if-none-match': tag } })
  if (answer.status === 304) return false
  if (answer.status === 403) throw new Error('this session is over; open the address that sedano prints')
  const page = new DOMParser().parseFromString(policy.createHTML(await answer.text()), 'text/html')
  if (!one('#about', page)) throw new Error(`the answer was ${answer.status}`)
  tag = answer.headers.get('etag') ?? ''
  document.title = page.title
  return PARTS.map(path => patch(one(path), one(path, page)))[0]
}

const say = text => { one('#status').textContent = text }

async function look() {
  if (reading || still) return
  clearTimeout(timer)
  reading = true
  try {
    pause = await read() ? FIRST : Math.min(pause * 1.5, MOST)
    say(`checked ${new Date().toISOString().slice(11, 19)}Z, again in ${Math.round(pause / 1000)} s`)
  } catch (wrong) {
    pause = Math.min(pause * 2, AWAY)
    say(`not read: ${wrong.message}; again in ${Math.round(pause / 1000)} s`)
  }
  reading = false
  wait()
}

function wait() {
  clearTimeout(timer)
  if (!held && !still && !document.hidden) timer = setTimeout(look, pause)
}

function hold() {
  held = !held
  one('#live').setAttribute('aria-pressed', held)
  pause = FIRST
  if (held) say('held')
  wait()
}

function move(step) {
  const links = [...document.querySelectorAll('main tr a, main li a')].filter((link, at, all) => link.checkVisibility?.({ contentVisibilityAuto: false }) !== false && (at === 0 || link.closest('tr, li') !== all[at - 1].closest('tr, li')))
  const here = links.findIndex(link => link.closest('tr, li').contains(document.activeElement))
  links[Math.max(0, Math.min(links.length - 1, here < 0 ? 0 : here + step))]?.focus()
}

const keys = {
  j: () => move(1), k: () => move(-1), '/': () => (one('.filter input') ?? one('.find input')).focus(), r: look, p: hold,
  '?': () => one('#keys').showModal(),
}
let going = 0
addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || one('dialog[open]')) return
  if (event.target.closest('input, select, textarea')) { if (event.key === 'Escape') event.target.blur(); return }
  const link = going > Date.now() && one(`nav a[data-key="${CSS.escape(event.key)}"]`)
  going = event.key === 'g' ? Date.now() + 1500 : 0
  const act = link ? () => link.click() : keys[event.key]
  if (act) { event.preventDefault(); act() }
})
one('#live').addEventListener('click', hold)
one('#help').addEventListener('click', keys['?'])
one('#live').hidden = still
one('#help').hidden = false
document.addEventListener('visibilitychange', () => { if (document.hidden) clearTimeout(timer); else if (!held) { pause = FIRST; look() } })
wait()
