#!/bin/sh
# Workloads through the command: sizes, mistakes, your own folder as docs/workloads-howto.md shows it.
. tests/cli/lib.sh
run() {
    code=$1 fragment=$2
    shift 2
    expect "$code" "$fragment" "$ATOLL" run --functional -w "$@"
}
run 0 "" vecadd:tiny
run 0 "" gather:n=2K,from=4K
run 0 "" bfs:tiny+nw:tiny
# networks by whole maps, as SelRep's settings have them
run 0 "" resnet:channels=16,width=32,size=7,maps=6
run 0 "" squeezenet:in=16,squeeze=8,expand=9,size=7,maps=1
run 0 "" dnn_conv:maps=2
run 2 "10 input channels in chunks of 10" resnet:channels=10,width=32,size=7,maps=6
run 2 "1 input channels in chunks of 0" resnet:channels=16,width=1,size=7,maps=6
run 1 "selrep3        n=64,k=3712,batch=4,repeat=20,ahead=1,alone=1  (SelRep mm_3, 1.9 MB shared)" 'mm:?'
run 0 "" mm:tiny,ahead=1,batch=3
run 0 "" nn:images=5,batch=2 --racecheck
run 0 "" mm:n=48,m=32,k=192,ahead=1,repeat=2 --racecheck
run 2 "ahead: k is not a multiple of 64" mm:tiny,k=80,ahead=1
expect 0 "" "$ATOLL" run -m selrep -w mm:tiny,ahead=1,batch=3 --check
# variants of CARVE's workloads that 'tiny' does not have
run 0 "" gups:tiny,atomic=1,init=0
run 2 "400 threads are more than words / 128: too many updates collide" gups:tiny,threads=400
run 0 "" sssp:tiny,rounds=2
run 0 "" xsbench:tiny,launches=2
run 0 "" raytrace:tiny,depth=6,bounces=3
run 0 "" bitcoin:nonces=1000,sample=3,zeros=12
run 0 "" amg:n=9,levels=4,coarse=1
run 0 "" cnn_layer:tiny,tile=128,kernel=5,pad=2,order=1 --racecheck
run 2 "tile=24: 8, 16, 32, 64 or 128 channels are possible" cnn_layer:tiny,tile=24
run 2 "the window is larger than the map" cnn_layer:tiny,size=3,kernel=7,pad=0
run 0 "" mcb:tiny,rounds=1,side=3
run 0 "" miniamr:roots=4,slots=300,n=4,vars=3,steps=6,stages=1,refine=2 --racecheck
run 2 "slots=20: the pool is too small for 3^3 root blocks" miniamr:tiny,slots=20
run 0 "" hpgmg_amr:patches=3,n=8,levels=2 --racecheck
run 2 "n=12 is no multiple of 2^levels = 8" hpgmg_amr:n=12,levels=3
run 0 "" hpgmg:bx=1,by=1,bz=1,dim=2
run 0 "" hpgmg:bx=3,by=1,bz=2,dim=12,cycles=2
run 0 "" nekbone:ex=1,ey=1,ez=1,n=18,iterations=1
run 0 "" nekbone:ex=3,ey=1,ez=2,n=3
run 0 "" comd:tiny,steps=5 --racecheck
# variants of LADM's workloads
run 0 "" mm:n=128,m=64,k=48,wide=1,repeat=2 --racecheck
run 2 "wide: m and n must be multiples of 64" mm:tiny,wide=1
run 0 "" gemm_fc:tiny --racecheck
run 0 "" lstm:inputs=64,units=32,steps=3,sequences=8 --racecheck
run 0 "" lstm:tiny,inputs=0,units=32
run 2 "inputs and units together are no multiple of 32" lstm:tiny,inputs=9
run 0 "" srad:rows=16,cols=16,iterations=3 --racecheck
run 0 "" scalarprod:vectors=3,elements=5,blocks=7
run 0 "" histo_main:tiny,blocks=1,rows=5 --racecheck
run 0 "" hotspot3d:tiny,nz=2,steps=3
run 0 "" kmeans_notex:tiny,clusters=2,features=1,rounds=3
run 0 "" spmv_jds:rows=5,repeat=2
run 0 "" sssp:tiny,pull=1
run 0 "" sssp:tiny,pull=1,rounds=3
run 0 "" bfs_relax:tiny,levels=2,sources=3
run 2 "sources: there are only 3000 vertices" bfs_relax:tiny,sources=3001
run 0 "" vecadd:n=1004,block=64,four=1
run 2 "four: n is no multiple of 4" vecadd:n=10,four=1
run 1 "nx of euler3d (cubes along x (six cells each)) must be a multiple of 8" euler3d:tiny,nx=9
run 1 "'abc' is not a whole number" vecadd:n=abc
run 1 "goes from 1 to 1073741824" vecadd:n=-1
run 1 "goes from 1 to 1073741824" vecadd:n=9999999999
run 1 "vecadd has no parameter 'm'" vecadd:m=4
run 1 "did you mean 'vecadd'?" vecad
run 1 "cannot open the workload folder" ./no/such/folder

# the example of the documentation, cut out of it
mkdir "$dir/mywork"
awk -v to="$dir/mywork/mywork" '/^```c/ { n++; f = 1; next } /^```/ { f = 0 }
    f { print > (to (n == 1 ? ".cu" : ".c")) }' docs/workloads-howto.md
ATOLL_CACHE="$dir/cache"
export ATOLL_CACHE
run 0 "" "$dir/mywork:tiny"
run 0 "" "$dir/mywork:n=77+vecadd:tiny"
run 1 "n of mywork (elements) goes from 1 to" "$dir/mywork:n=0"
sed -i 's/by \* in/2.0f * in/' "$dir/mywork/mywork.cu"
run 2 "check failed: $dir/mywork:tiny: out[0] is" "$dir/mywork:tiny"
echo 'broken' >> "$dir/mywork/mywork.cu"
run 1 "mywork.cu does not compile; clang says:" "$dir/mywork:tiny"
ATOLL_CLANG=no-such-clang
export ATOLL_CLANG
run 1 "Device code needs clang" "$dir/mywork:tiny"
finish
