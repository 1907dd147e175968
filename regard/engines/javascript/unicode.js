"use strict";
// Classes of characters as the library `tokenizers` has them: a browser's own are of another version of Unicode. Each range is the
// distance from the one before it, then its length if it has more than one character, in base 36. L, M, N: letters, marks and
// numbers; control, punctuation, ideograph: those of BERT. tests/page/test_tokenizers.py compares them.
engine.characters = {
  L: "1t.p 7.p 1c b 5 6.m 2.u 2.cp 5.b f.4 8 2 3m.4 2.1 3.3 2 7 2.2 2 2.j 2.2a 2.3u 9.4l 2.11 3 7.14 20.q 5.3 1a.16 10.1 2.2q 2 g.1 8.1 b.2 3 h 2.t u.2g c " +
    "p.w a.1 5 6.l 5 a 4 o.o 8.a 6.n 2.5 i.15 1n.1h 4 j 8.9 g.f 5.7 3.1 3.l 2.6 2 4.3 4 h e.1 2.2 f.1 b 9.5 5.1 3.l 2.6 2.1 2.1 2.1 w.3 2 k.2 h.8 2.2 2.l " +
    "2.6 2.1 2.4 4 j g.1 o c.7 3.1 3.l 2.6 2.1 2.4 4 v.1 2.2 g i 2.5 4.2 2.3 4.1 2 2.1 4.1 4.2 4.b n 1h.7 2.2 2.m 2.f 4 r.2 3 3.1 v 5.7 2.2 2.m 2.9 2.4 4 " +
    "w.1 2.1 g.1 i.8 2.2 2.14 3 h 6.2 9.2 p.5 6.h 4.n 2.8 2 3.6 1n.1b 2.1 d.6 1n.1 2 2.4 2.n 2 2.9 2.1 a 3.4 2 m.3 x 1s.7 2.z s.4 38.16 l h.5 5.3 4 4.1 8.2 " +
    "5.c d i.11 2 6 3.16 2.98 2.3 3.6 2 2.3 3.14 2.3 3.w 2.3 3.6 2 2.3 3.e 2.1k 2.3 3.1u 12.f h.2d 3.5 4.h7 3.g 2.p 6.22 7.7 8.h e.i f.h f.c 2.2 g.1f 10 5 " +
    "1w.2g 8.4 3.x 2 6.1x b.u 1e.t 3.4 c.17 5.p 1j.m a.1g 2b 2m.1a i.7 1j.t e.1 b.17 r.z 16.2 b.z 3.a 6.16 3.2 16.3 2.5 2.1 4 6.5b 1t.7p 3.5 3.11 3.5 3.7 2 " +
    "2 2 2.u 3.1g 2.6 2 4.2 2.6 4.3 3.5 5.c 6.2 2.6 39 e h.c 2u 5 3.9 2 4.4 7 2 2 2.3 2.a 3.3 6.4 5 1h.1 22k.6c 7.3 4.1 d.11 2 6 3.1j 8 h.m a.6 2.6 2.6 2.6 " +
    "2.6 2.6 2.6 2.6 29 d2.1 17.4 6.1 5.2d 7.2 2.2h 2.3 6.16 2.2l i.v 1d.f e9.533 1t.h3g 1w.19 3.7g 4.f b.1 l.1a h.u 3.1x 1e.8 3.2u 3.1u 3.1 2 2.7 m.f 2.2 " +
    "2.3 2.m u.1f f.1d 1r.5 4 2.1 c.r b.m q.s 8.1a t h.4 2.9 b.4 2.14 o.2 2.7 l.m 4 4.1d 2 4.1 3.4 3 2 p.2 3.a 8.2 d.5 3.5 3.5 a.6 2.6 2.16 2.d 7.36 u.8mb " +
    "d.m 5.1c 6it.a5 3.2x 13.6 d.4 6 2.9 2.c 2.4 2 2.1 2.1 2.2z y.a2 j.1r 3.1h 15.b 39.4 2.3q 11.p 7.p c.2g 4.5 3.5 3.5 3.2 10.b 2.p 2.i 2.1 2.e 3.d z.3e " +
    "au.s 4.1c 1c.v e.j 2.7 7.11 b.t 3.z 5.7 1d.4d j.z 5.z 5.13 9.1f d.a 2.e 2.6 2.1 2.a 2.e 2.6 2.1 4.1f d.8m a.l b.7 p.5 2.15 2.8 1y.5 3 2.17 2.1 4 3.m " +
    "b.m a.u 1u.i 2.1 b.l b.p 1z.1j 7.1 1t g.3 2.2 2.s 17.s 4.s 10.7 2.r s.1h b.l b.i e.h 33.20 1k.1e e.1e e.z 13.r a.m 6z.15 7.1 h.2 1o.s b 9.l 17.h 1b.k " +
    "s.m d.1g 1m.1 3 e.18 x.o r.z u 3 9.y 4 d.1b f.3 m 2 10.h 2.o k.1 1s.6 2 2.3 2.e 2.9 8.1a 13.7 3.1 3.l 2.6 2.1 2.4 4 j d.4 v.9 2 3 2.11 2 q 2 19.1g j.3 " +
    "l.2 v.1b l.1 2 55.1a 16.3 11.1b l 1o.16 e 20.q 12.6 56.17 39.1r w.7 3 3.7 2.1 2.n g 2 2n.7 3.12 h 2 t b.13 8 m c.19 k j.20 5k.w w.8 2.10 i 1e.t 35.6 " +
    "2.1 2.11 m q.5 2.1 2.v f 94.i g 2.c 2.x 3h 28.pl 6f.5f 219.2o g.tr i.5 q.32y 6.g6 5a2.t 1cz.fs 8.u i.26 i.t j.1b h.3 w.k 6.i c1.18 5w.1r 3l.22 6 1v.c " +
    "1t.1 2 t.4qf 9.yd 16.9 6w8.3 2.6 2.1 2.82 g u.2 3 f.3 9.az 1s5.2y 6.c 4.8 8.9 4mf.2c 2.1y 2.1 3 3.1 3.3 2.b 2 2.6 2.1s 2.3 3.7 2.6 2.r 2.3 2.4 2 4.6 " +
    "2.9f 3.o 2.o 2.u 2.o 2.u 2.o 2.u 2.o 2.u 2.o 2.7 1f9.u 7.5 7a.1p 43.18 b.6 h 8y.t j.17 dh.r 6d.t 3 ds.6 2.3 2.1 2.e 2.5g 1o.1v 8 xh.3 2.q 2.1 2 3 2.9 " +
    "2.3 2 2 7 5 2 2 2.2 2.1 2 3 2 2 2 2 2.1 2 3.3 2.6 2.3 2.3 2 2.9 2.g 6.2 2.4 2.g 3et.wyn x.37d 7.65 3.4g1 f.5rk g.h9 1wj.f1 15v.3t6 6.38f",
  M: "lc.33 7o.6 7c.18 2 2.1 2.1 2 21.a 1d.k h 2u.6 3.5 3.1 2.3 10 v.q 2k.a 1n.8 a p.3 2.8 2.2 2.4 18.2 1o.8 17.n 2.w 1j.2 2.h 2.6 b.1 u.2 1l 2.6 3.1 3.2 a " +
    "b.1 r 3.2 1l 2.4 5.1 3.2 4 v.1 4 c.2 1l 2.7 2.2 2.2 l.1 n.5 2.2 1l 2.6 3.1 3.2 8.2 b.1 v 1o.4 4.2 2.3 a 15.4 1k 2.6 2.2 2.3 8.1 c.1 u.2 1l 2.6 2.2 2.3 " +
    "8.1 c.1 g d.3 1k.1 2.6 2.2 2.3 a b.1 u.2 1z 5.5 2 2.7 j.1 1q 3.6 d.7 2r 3.8 c.6 22.1 s 2 2 5.1 1e.j 2.1 6.a 2.z a 2t.j o.3 5.2 2.2 3.6 4.3 e.b 2 b.3 " +
    "jk.2 qb.3 t.2 u.1 v.1 1t.v a 1a.2 2 3a.1 z 3b.b 5.b 64.4 1m.9 2.s 3 1d.u 1e.4 1c.g 13.8 d.2 v.c 1l.d 1d.j 49.2 2.k 5 7 3.2 5j.1r k1.w 2db.2 3y 2p.v " +
    "ff.5 2y.1 n9x.3 2.9 x.1 29.1 7l 4 5 o.4 5 2c.1 1f.h r.h e 13.7 q.c 19.3 1c.d 11 1w.d d 9.1 1a.2 1f 2.2 3.1 6.1 2 16.4 6.1 6l.7 2.1 fn5 ki.f h.f r2 6b " +
    "46.4 1af.2 2.1 6.3 15.2 5 4m.1 fy.3 1u.4 8u.1 28.3 1z.a 1e.3 3f.2 1i.e 16 3.1 b.3 1a.a 8 1q.2 11.d h.1 19 d.2 1d.d 9.3 2.1 2l.b 7 3 4e.b m.3 1k.1 2.6 " +
    "3.1 3.2 a b.1 3.6 4.4 1w.8 2 3 2.3 2.4 2 f.1 2b.h o 2a.j 6k.6 3.8 s.1 2b.g 2z.c 2u.e 75.e 6u.5 2.1 3.3 2 2.1 3y.6 3.6 4 t.9 15.6 2.3 9 a.a 1b.f ba.7 " +
    "2.7 2b.l 2.d 3f.5 4 2.1 2.6 2 1v.4 2.1 2.4 9o.3 a.1 2 1d.6 4.4 o 44m 7.e 8uh.h 1xd.4 1o.6 t5 2.1i 8.3 2a c.1 f58.1 3mq.19 3.m f3.4 4.5 9.7 3.6 v.3 " +
    "45.2 1j0.1i 5.1d 9 f n.4 2.e 11t.6 2.g 3.6 2.1 2.4 2t 4h.6 ag 1q.3 e5.3 73.1 kh.6 32.6 gzhy.6n",
  N: "1c.9 3d.1 6 3.2 142.9 3r.9 5j.9 bh.9 3b.9 5.5 31.9 3b.9 3b.9 3.5 33.c 38.9 9.6 2w.9 2x.6 8.i 32.9 2p.9 3b.9 1z.j 7h.9 1z.9 k0.j oi.2 6o.9 7.9 n.9 8d.9 " +
    "3l.a 4m.9 7.9 53.9 2f.9 3r.9 7.9 t3 4.5 7.9 5j.1e 3.4 k7.1n 27.l hj.t 12i lm q.8 f.2 9k.3 3v.9 v.7 2.e x.9 14.e msh.9 59.9 8x.5 4b.9 13.9 5j.9 n.9 " +
    "2f.9 bb.9 gev.9 dq.18 d.1k i.1 9i.q 11.3 u 9 3r.4 5n.9 q7.7 q.6 14.8 24.4 n.5 4h.1 3.f 3.19 1t.8 1h.1 v.2 24.4 2x.7 p.7 16.6 97.5 1d.9 7.9 7r.u 4f.9 " +
    "17.3 35.6 3r.t 3l.9 1p.9 41.9 8.j 70.9 9j.9 3b.9 af.9 2v.9 7.j 25.b bp.i 2m.9 if.9 2f.s 6c.9 1z.9 br.9 2v.k to.32 c02.9 1t3.9 2f.9 3r.9 2.6 en.9 7b.m " +
    "imy.9 153.j d.j 31.o uu.1d 1tt.9 br.9 dz.9 6w.9 jx.8 3l.9 m0.1m 2.2 2.3 25.18 2.e qr.c 25g.9",
  control: "0.8 3.1 2.h 2o.w e 11v.5 n 5d 1e 3cv 1kt.4 r.4 1e.4 2.9 11u9.4xr 16o 6y.2 2 3b4 xyb.3 440.7 h407 v.2n 1egx.1ekd 3.1ekd",
  punctuation: "x.e b.6 r.5 r.3 z 6 4 b.1 4 4 jj 9 cz.5 16.1 1g 2 3 3 19.1 l.1 2.1 e 3.1 23.3 2v 18.d 6i.2 1j.e w 7a.1 b ao lg 2j b.1 4p.e 2 12.3 20 23.4 5.1 34.5 4s " +
    "h1.8 48 h9.1 19.1 27.2 20.1 4e.2 2.2 12.a 8q.1 61.1 3l.6 2.5 4t.6 4c.3 1o.4 1r.1 1t.7 c n1.n 9.j 2.c 2.b v.1 f.1 hm.3 u.1 u6.d 28.1 w.9 b8.l 1s.3 x.1 " +
    "l8.3 2.1 35 40.1a 2.i cf.2 5.9 3.b h d 2r 2j mwz.1 7i.2 2s b 38.5 al.3 2f.1 15.2 2 1e.1 1c 2q.c h.1 3h.3 3j.1 h.1 6y g2b.1 5t.9 n.y 2.d 2 5 2.1 46.2 " +
    "2.5 2.3 b.1 4.1 r.2 2 s 2 2.6 bf.2 il 1d bj ko 5k w 7l.8 13 35.6 1v.6 2i.3 x7.6 32.1 2.3 3j.3 1d.1 28.4 4 e 2.2 2h.5 30 f1 6z.m 2y.2 6x.2 2lu.4 dtm.1 " +
    "3q 1u.4 9 g2j 5wo.4",
  ideograph: "a9s.533 1t.g73 hkx.e7 1fk1.wyn x.3dr 75.49b 85t.f3",
};

// The inside of a character class of a regular expression.
engine.characterClass = (name) => {
  let place = 0;
  const hex = (/** @type {number} */ code) => `\\u{${code.toString(16)}}`;
  return engine.characters[name].split(" ").map((range) => {
    const [gap, length = 0] = range.split(".").map((digits) => parseInt(digits, 36)), first = place + gap;
    place = first + length;
    return length ? `${hex(first)}-${hex(place)}` : hex(first);
  }).join("");
};
